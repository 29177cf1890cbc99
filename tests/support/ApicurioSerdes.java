import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaSerializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaSerializer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Serializes values with Apicurio's serializers, as Kafka's producer calls them. The argument is the address of the
 * registry's API.
 *
 * <p>Reads a command per line: "avro|protobuf|json TOPIC key|value SCHEMA TYPE CONTENT OPTION=VALUE...". SCHEMA and
 * CONTENT are base64. The schema is a text of Avro, or a FileDescriptorSet whose last file has the message TYPE, as
 * "Outer" or "Outer.Inner", or empty; the content is JSON, or a serialized message. Responds with "ok", the bytes and
 * the headers as "NAME=BYTES", as hexadecimal digits, or "error" and the reason. Run from source.
 */
public final class ApicurioSerdes {
  private static final HexFormat HEX = HexFormat.of();

  private ApicurioSerdes() {}

  public static void main(String[] arguments) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ok ready");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String answer;
      try {
        answer = "ok " + answered(arguments[0], line.split(" "));
      } catch (Throwable error) {
        error.printStackTrace();
        answer = "error " + error;
      }
      System.out.println(answer.replace('\n', ' ').trim());
    }
  }

  private static String answered(String url, String[] words) throws Exception {
    Map<String, Object> options = new HashMap<>(Map.of("apicurio.registry.url", url));
    for (int index = 6; index < words.length; index++) {
      String[] option = words[index].split("=", 2);
      options.put(option[0], option[1]);
    }
    byte[] schema = Base64.getDecoder().decode(words[3]);
    byte[] content = Base64.getDecoder().decode(words[5]);
    Object data;
    Serializer<?> serializer;
    switch (words[0]) {
      case "avro": {
        Schema parsed = new Schema.Parser().parse(new String(schema, StandardCharsets.UTF_8));
        String text = new String(content, StandardCharsets.UTF_8);
        data = new GenericDatumReader<>(parsed).read(null, DecoderFactory.get().jsonDecoder(parsed, text));
        serializer = new AvroKafkaSerializer<Object>();
        break;
      }
      case "protobuf":
        data = DynamicMessage.parseFrom(type(FileDescriptorSet.parseFrom(schema), words[4]), content);
        serializer = new ProtobufKafkaSerializer<Message>();
        break;
      case "json":
        data = new ObjectMapper().readValue(content, Map.class);
        serializer = new JsonSchemaKafkaSerializer<Object>();
        break;
      default:
        throw new IllegalArgumentException(words[0]);
    }
    serializer.configure(options, words[2].equals("key"));
    return serialized(serializer, words[1], data);
  }

  @SuppressWarnings("unchecked")
  private static String serialized(Serializer<?> serializer, String topic, Object data) {
    try (Serializer<Object> open = (Serializer<Object>) serializer) {
      Headers headers = new RecordHeaders();
      List<String> words = new ArrayList<>();
      words.add(HEX.formatHex(open.serialize(topic, headers, data)));
      for (Header header : headers) {
        words.add(header.key() + "=" + HEX.formatHex(header.value()));
      }
      return String.join(" ", words);
    }
  }

  private static Descriptor type(FileDescriptorSet set, String path) throws Exception {
    Map<String, FileDescriptor> files = new HashMap<>();
    FileDescriptor last = null;
    for (FileDescriptorProto file : set.getFileList()) {
      FileDescriptor[] imported = file.getDependencyList().stream().map(files::get).toArray(FileDescriptor[]::new);
      last = FileDescriptor.buildFrom(file, imported);
      files.put(file.getName(), last);
    }
    Descriptor found = null;
    for (String name : path.split("\\.")) {
      found = found == null ? last.findMessageTypeByName(name) : found.findNestedTypeByName(name);
    }
    return found;
  }
}
