import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.util.Pair;
import org.apache.phoenix.jdbc.PhoenixConnection;
import org.apache.phoenix.schema.PColumn;
import org.apache.phoenix.schema.PTable;
import org.apache.phoenix.schema.PTableKey;
import org.apache.phoenix.schema.SortOrder;
import org.apache.phoenix.schema.types.PDataType;
import org.apache.phoenix.util.PhoenixRuntime;

/**
 * Makes bytes of values and cells of rows with Phoenix itself, which needs no server for that.
 *
 * <p>Reads a command per line: "value TYPE ASC|DESC VALUE" and "read TYPE ASC|DESC BYTES", "execute SQL", and "row TABLE
 * VALUE..." for an UPSERT of all columns. A value is text as hexadecimal digits, and "-" is NULL: the text of a number,
 * true or false, milliseconds, or nanoseconds for a timestamp. Responds with "ok" and the result, or "error" and the
 * reason: bytes, or the cells of the row as "ROW/FAMILY/QUALIFIER/VALUE", as hexadecimal digits. Run from source.
 */
public final class PhoenixRows {
  private static final HexFormat HEX = HexFormat.of();

  private PhoenixRows() {}

  public static void main(String[] arguments) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    Connection connection = DriverManager.getConnection("jdbc:phoenix:none");
    System.out.println("ok ready");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String answer;
      try {
        answer = "ok " + answered(connection, line);
      } catch (Throwable error) {
        answer = "error " + error;
      }
      System.out.println(answer.replace('\n', ' ').trim());
    }
  }

  @SuppressWarnings("rawtypes")
  private static String answered(Connection connection, String line) throws Exception {
    String[] words = line.split(" ");
    switch (words[0]) {
      case "value": {
        PDataType type = PDataType.fromSqlTypeName(words[1]);
        return HEX.formatHex(type.toBytes(value(type, words[3]), SortOrder.valueOf(words[2])));
      }
      case "read": {
        PDataType type = PDataType.fromSqlTypeName(words[1]);
        return String.valueOf(type.toObject(HEX.parseHex(words[3]), SortOrder.valueOf(words[2])));
      }
      case "execute":
        connection.createStatement().execute(line.substring("execute ".length()));
        return "";
      case "row":
        return row(connection, words[1], Arrays.asList(words).subList(2, words.length));
      default:
        throw new IllegalArgumentException(line);
    }
  }

  private static String row(Connection connection, String name, List<String> words) throws Exception {
    PTable table = connection.unwrap(PhoenixConnection.class).getTable(new PTableKey(null, name));
    List<PColumn> columns = table.getColumns();
    if (table.getBucketNum() != null) {
      columns = columns.subList(1, columns.size());
    }
    String marks = String.join(", ", Collections.nCopies(columns.size(), "?"));
    try (PreparedStatement upsert = connection.prepareStatement("UPSERT INTO " + name + " VALUES (" + marks + ")")) {
      for (int index = 0; index < columns.size(); index++) {
        PDataType<?> type = columns.get(index).getDataType();
        Object value = value(type, words.get(index));
        if (value == null) {
          upsert.setNull(index + 1, type.getSqlType());
        } else {
          upsert.setObject(index + 1, value);
        }
      }
      upsert.execute();
      List<String> cells = new ArrayList<>();
      Iterator<Pair<byte[], List<Cell>>> tables = PhoenixRuntime.getUncommittedDataIterator(connection);
      while (tables.hasNext()) {
        for (Cell cell : tables.next().getSecond()) {
          if (cell.getType() == Cell.Type.Put) {
            cells.add(
                String.join(
                    "/",
                    HEX.formatHex(CellUtil.cloneRow(cell)),
                    HEX.formatHex(CellUtil.cloneFamily(cell)),
                    HEX.formatHex(CellUtil.cloneQualifier(cell)),
                    HEX.formatHex(CellUtil.cloneValue(cell))));
          }
        }
      }
      return String.join(" ", cells);
    } finally {
      connection.rollback();
    }
  }

  private static Object value(PDataType<?> type, String word) {
    if (word.equals("-")) {
      return null;
    }
    byte[] bytes = HEX.parseHex(word);
    String text = new String(bytes, StandardCharsets.UTF_8);
    Class<?> kind = type.getJavaClass();
    if (kind == byte[].class) {
      return bytes;
    } else if (kind == String.class) {
      return text;
    } else if (kind == Boolean.class) {
      return Boolean.valueOf(text);
    } else if (kind == Byte.class) {
      return Byte.valueOf(text);
    } else if (kind == Short.class) {
      return Short.valueOf(text);
    } else if (kind == Integer.class) {
      return Integer.valueOf(text);
    } else if (kind == Long.class) {
      return Long.valueOf(text);
    } else if (kind == Float.class) {
      return Float.valueOf(text);
    } else if (kind == Double.class) {
      return Double.valueOf(text);
    } else if (kind == BigDecimal.class) {
      return new BigDecimal(text);
    } else if (kind == Date.class) {
      return new Date(Long.parseLong(text));
    } else if (kind == Time.class) {
      return new Time(Long.parseLong(text));
    } else if (kind == Timestamp.class) {
      long nanos = Long.parseLong(text);
      Timestamp timestamp = new Timestamp(Math.floorDiv(nanos, 1_000_000_000L) * 1000);
      timestamp.setNanos((int) Math.floorMod(nanos, 1_000_000_000L));
      return timestamp;
    }
    throw new IllegalArgumentException(type.toString());
  }
}
