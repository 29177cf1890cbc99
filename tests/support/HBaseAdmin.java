import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.DoNotRetryRegionException;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.filter.KeyOnlyFilter;
import org.apache.hadoop.hbase.security.access.AccessControlClient;
import org.apache.hadoop.hbase.security.access.Permission;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Administration for tests that needs HBase's Java client. Reads one command per line ("split TABLE") and responds with a
 * line that begins with "ok" or "error". Run from source.
 */
public final class HBaseAdmin {
  private static final int WAIT_MS = 60_000;

  private final Connection connection;
  private final Admin admin;

  private HBaseAdmin(Connection connection) throws Exception {
    this.connection = connection;
    this.admin = connection.getAdmin();
  }

  public static void main(String[] none) throws Exception {
    try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create())) {
      HBaseAdmin admin = new HBaseAdmin(connection);
      BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
      System.out.println("ok ready");
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String answer;
        try {
          answer = "ok " + admin.run(line.trim().split(" "));
        } catch (Throwable error) {
          answer = "error " + error.toString();
        }
        System.out.println(answer.replace('\n', ' ').trim());
      }
    }
    System.exit(0);
  }

  private String run(String[] words) throws Throwable {
    TableName table = words.length > 1 ? TableName.valueOf(words[1]) : null;
    switch (words[0]) {
      case "servers": return names(admin.getRegionServers());
      case "regions": return regions(table);
      case "writes": return writes(table);
      case "older": return String.valueOf(older(table));
      case "flush": admin.flush(table); return "";
      case "move": return move(table);
      case "split": return split(table);
      case "merge": return merge(table);
      case "balance": return String.valueOf(admin.balance());
      case "create": create(table, words); return "";
      case "disable": admin.disableTable(table); return "";
      case "enable": admin.enableTable(table); return "";
      case "drop": admin.disableTable(table); admin.deleteTable(table); return "";
      case "delete-family": admin.deleteColumnFamily(table, Bytes.toBytes(words[2])); return "";
      case "add-family": admin.addColumnFamily(table, ColumnFamilyDescriptorBuilder.of(words[2])); return "";
      case "grant": AccessControlClient.grant(connection, table, words[2], null, null, all()); return "";
      case "grant-global": AccessControlClient.grant(connection, words[1], all()); return "";
      case "revoke": AccessControlClient.revoke(connection, table, words[2], null, null, all()); return "";
      case "revoke-global": AccessControlClient.revoke(connection, words[1], all()); return "";
      default: throw new IllegalArgumentException("no command " + words[0]);
    }
  }

  private void create(TableName table, String[] words) throws Exception {
    TableDescriptorBuilder made = TableDescriptorBuilder.newBuilder(table);
    for (int number = 2; number < words.length; number++) {
      made.setColumnFamily(ColumnFamilyDescriptorBuilder.of(words[number]));
    }
    admin.createTable(made.build());
  }

  /** Moves every region to another server. */
  private String move(TableName table) throws Exception {
    List<ServerName> servers = new ArrayList<>(admin.getRegionServers());
    int moved = 0;
    for (RegionInfo region : admin.getRegions(table)) {
      ServerName before = server(region);
      for (ServerName other : servers) {
        if (!other.equals(before)) {
          try {
            admin.move(region.getEncodedNameAsBytes(), other);
          } catch (DoNotRetryRegionException error) {
            if (isInTable(region, table)) {
              throw error;
            }
            break; // HBase has split it by itself
          }
          long end = System.currentTimeMillis() + WAIT_MS;
          while (!other.equals(server(region)) && System.currentTimeMillis() < end) {
            Thread.sleep(50);
          }
          moved += other.equals(server(region)) ? 1 : 0;
          break;
        }
      }
    }
    return String.valueOf(moved);
  }

  /** Splits the first region in the middle of its key range, between 0x00 and 0xff. */
  private String split(TableName table) throws Exception {
    int before = admin.getRegions(table).size();
    RegionInfo region = admin.getRegions(table).get(0);
    byte[] end = region.getEndKey();
    int last = end.length == 0 ? 256 : end[0] & 0xff;
    int first = region.getStartKey().length == 0 ? 0 : region.getStartKey()[0] & 0xff;
    byte[] middle = {(byte) ((first + last) / 2)};
    untilDone(table, () -> admin.splitRegionAsync(region.getRegionName(), middle).get());
    return before + " " + waitForRegions(table, before + 1);
  }

  private String merge(TableName table) throws Exception {
    List<RegionInfo> regions = admin.getRegions(table);
    byte[][] two = {regions.get(0).getEncodedNameAsBytes(), regions.get(1).getEncodedNameAsBytes()};
    untilDone(table, () -> admin.mergeRegionsAsync(two, true).get());
    return regions.size() + " " + waitForRegions(table, regions.size() - 1);
  }

  /** Retries, with compactions: a region with reference files can be neither split nor merged. */
  private void untilDone(TableName table, Callable<Object> work) throws Exception {
    long end = System.currentTimeMillis() + WAIT_MS;
    while (true) {
      try {
        work.call();
        return;
      } catch (Exception error) {
        if (System.currentTimeMillis() > end) {
          throw error;
        }
        admin.majorCompact(table);
        Thread.sleep(1_000);
        admin.runCatalogJanitor();
      }
    }
  }

  /** Whether a region still belongs to a table; a split region is known for a moment longer. */
  private boolean isInTable(RegionInfo region, TableName table) throws Exception {
    long end = System.currentTimeMillis() + WAIT_MS;
    while (admin.getRegions(table).contains(region)) {
      if (System.currentTimeMillis() > end) {
        return true;
      }
      Thread.sleep(50);
    }
    return false;
  }

  private int waitForRegions(TableName table, int wanted) throws Exception {
    long end = System.currentTimeMillis() + WAIT_MS;
    while (admin.getRegions(table).size() != wanted && System.currentTimeMillis() < end) {
      Thread.sleep(50);
    }
    return admin.getRegions(table).size();
  }

  private String regions(TableName table) throws Exception {
    StringBuilder said = new StringBuilder();
    for (RegionInfo region : admin.getRegions(table)) {
      said.append(region.getEncodedName()).append('@').append(server(region)).append(' ');
    }
    return said.toString();
  }

  /** Region, server and number of rows written of each region, since it was opened. */
  private String writes(TableName table) throws Exception {
    StringBuilder said = new StringBuilder();
    for (ServerName server : admin.getRegionServers()) {
      for (RegionMetrics region : admin.getRegionMetrics(server, table)) {
        String name = RegionInfo.encodeRegionName(region.getRegionName());
        said.append(name).append('@').append(server).append('=').append(region.getWriteRequestCount()).append(' ');
      }
    }
    return said.toString();
  }

  /** Number of rows that have more than one version of a cell. */
  private long older(TableName table) throws Exception {
    Scan scan = new Scan().readVersions(2).setCaching(2_000).setFilter(new KeyOnlyFilter());
    long found = 0;
    try (ResultScanner rows = connection.getTable(table).getScanner(scan)) {
      for (Result row : rows) {
        Cell before = null;
        for (Cell cell : row.rawCells()) {
          if (before != null && CellUtil.matchingColumn(before, cell)) {
            found++;
            break;
          }
          before = cell;
        }
      }
    }
    return found;
  }

  private ServerName server(RegionInfo region) throws Exception {
    return connection.getRegionLocator(region.getTable()).getRegionLocation(region.getStartKey(), true).getServerName();
  }

  private static String names(Iterable<ServerName> servers) {
    StringBuilder said = new StringBuilder();
    for (ServerName server : servers) {
      said.append(server).append(' ');
    }
    return said.toString();
  }

  private static Permission.Action[] all() {
    return EnumSet.allOf(Permission.Action.class).toArray(new Permission.Action[0]);
  }
}
