import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;

/** Runs the statements of a file, which blank lines separate, and waits for the last. Arguments: the file, settings as NAME=VALUE. */
public class FlinkJob {
    public static void main(String[] arguments) {
        try {
            Configuration settings = new Configuration();
            for (int number = 1; number < arguments.length; number++) {
                String[] setting = arguments[number].split("=", 2);
                settings.setString(setting[0], setting[1]);
            }
            TableEnvironment tables = TableEnvironment.create(
                EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(settings).build());
            TableResult last = null;
            for (String statement : Files.readString(Path.of(arguments[0])).split("\n\n")) {
                last = tables.executeSql(statement);
            }
            last.await();
        } catch (Throwable error) {
            error.printStackTrace();
            System.exit(1); // threads of the job keep a failed JVM alive
        }
    }
}
