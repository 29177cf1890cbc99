import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.io.hfile.HFilePrettyPrinter;
import org.apache.hadoop.util.ToolRunner;

/** Prints the keys and the metadata of files with HBase's own tool, which also checks the order of the keys. */
public class HFileReader {
    public static void main(String[] files) throws Exception {
        Configuration conf = HBaseConfiguration.create();
        for (String file : files) {
            System.out.println("file " + file);
            int status = ToolRunner.run(conf, new HFilePrettyPrinter(conf), new String[] {"-e", "-m", "-k", "-f", file});
            System.out.println("status " + status);
        }
    }
}
