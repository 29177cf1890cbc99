import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.SparkSubmit;
import org.apache.spark.deploy.SparkSubmitArguments;
import scala.Option;
import scala.Tuple2;
import scala.Tuple4;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Parses the arguments of spark-submit as Spark does, and prepares the submission without running it. Reads one JSON
 * array of arguments per line. Responds with "ok" and a JSON object, or "error" and the reason. Run from source.
 */
public final class SparkArguments {
  private SparkArguments() {}

  public static void main(String[] arguments) throws Exception {
    ObjectMapper json = new ObjectMapper();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ok ready");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String answer;
      try {
        answer = "ok " + json.writeValueAsString(prepared(json.readValue(line, String[].class)));
      } catch (Throwable error) {
        answer = "error " + error;
      }
      System.out.println(answer.replace('\n', ' ').trim());
    }
  }

  private static Map<String, Object> prepared(String[] words) {
    Seq<String> sequence = CollectionConverters.asScala(Arrays.asList(words)).toSeq();
    SparkSubmitArguments parsed =
        new SparkSubmitArguments(sequence, SparkSubmitArguments.$lessinit$greater$default$2());
    Tuple4<Seq<String>, Seq<String>, SparkConf, String> environment =
        new SparkSubmit().prepareSubmitEnvironment(parsed, Option.empty());
    Map<String, String> settings = new TreeMap<>();
    for (Tuple2<String, String> setting : environment._3().getAll()) {
      settings.put(setting._1(), setting._2());
    }
    Map<String, Object> result = new TreeMap<>();
    result.put("master", parsed.master());
    result.put("deploy_mode", parsed.deployMode());
    result.put("main", environment._4());
    result.put("arguments", CollectionConverters.asJava(environment._1()));
    result.put("settings", settings);
    return result;
  }
}
