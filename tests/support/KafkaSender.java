import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends for tests what kafka-python cannot: every codec, headers without a value. Reads one command per line, with bytes
 * in base64 and "-" for null. Responds to all commands except "record" with "ok" or "error". Run from source.
 */
public final class KafkaSender {
  private final String brokers;
  private final List<Future<RecordMetadata>> sent = new ArrayList<>();
  private KafkaProducer<byte[], byte[]> producer;

  private KafkaSender(String brokers) {
    this.brokers = brokers;
  }

  public static void main(String[] arguments) throws Exception {
    KafkaSender sender = new KafkaSender(arguments[0]);
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ok ready");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String answer;
      try {
        answer = sender.run(line.split(" "));
      } catch (Throwable error) {
        answer = "error " + error;
      }
      if (answer != null) {
        System.out.println(answer.replace('\n', ' ').trim());
      }
    }
    System.exit(0);
  }

  private String run(String[] words) throws Exception {
    switch (words[0]) {
      case "use": return use(words);
      case "record": return record(words);
      case "flush": return flush();
      default: throw new IllegalArgumentException("no command " + words[0]);
    }
  }

  /** use NAME=VALUE ...: options of the records that follow. */
  private String use(String[] words) {
    Properties options = new Properties();
    options.put("bootstrap.servers", brokers);
    options.put("max.request.size", "16777216");
    for (int index = 1; index < words.length; index++) {
      String[] option = words[index].split("=", 2);
      options.put(option[0], option[1]);
    }
    if (producer != null) {
      producer.close();
    }
    producer = new KafkaProducer<>(options, new ByteArraySerializer(), new ByteArraySerializer());
    return "ok";
  }

  /** record TOPIC PARTITION TIMESTAMP KEY VALUE [HEADER VALUE] ...: no response. */
  private String record(String[] words) {
    ProducerRecord<byte[], byte[]> record =
        new ProducerRecord<>(
            words[1], Integer.valueOf(words[2]), Long.valueOf(words[3]), bytes(words[4]), bytes(words[5]));
    for (int index = 6; index < words.length; index += 2) {
      record.headers().add(new RecordHeader(new String(bytes(words[index])), bytes(words[index + 1])));
    }
    sent.add(producer.send(record));
    return null;
  }

  /** flush: waits for all records; responds with their number. */
  private String flush() throws Exception {
    producer.flush();
    for (Future<RecordMetadata> each : sent) {
      each.get();
    }
    int count = sent.size();
    sent.clear();
    return "ok " + count;
  }

  private static byte[] bytes(String word) {
    return word.equals("-") ? null : Base64.getDecoder().decode(word.substring(1));
  }
}
