#!/usr/bin/env bash
# A value that a serializer of Apicurio 2.6.13 writes with `as-confluent` is read by Confluent's consumers with another
# schema, without an error: the ID in the value is a global ID, by default, and Apicurio's API for those consumers
# (ccompat v7) takes it for a content ID. The two are often equal in a new registry. A start of a producer whose schema
# is registered already uses up a content ID, at least in a registry with its data in memory, and from then on they
# differ. `apicurio.registry.use-id=contentId` of the serializer prevents it.
#
# Packages: io.apicurio:apicurio-registry-app:2.6.13.Final:tar.gz:all (142 MB),
# io.apicurio:apicurio-registry-serdes-avro-serde:2.6.13.Final. Needs Maven and a JDK. Seen on 2026-12-01 with Java 17.
# Exits with 0 if it is still so, with 1 if it changed.
set -euo pipefail
version=2.6.13.Final
folder=$(mktemp -d)
server=
trap '[[ -z "$server" ]] || kill "$server"; rm -rf "$folder"' EXIT
mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
  -Dartifact="io.apicurio:apicurio-registry-app:$version:tar.gz:all" -DoutputDirectory="$folder"
mkdir "$folder/registry"
tar -xzf "$folder"/apicurio-registry-app-*.tar.gz -C "$folder/registry"
cat >"$folder/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>serdes</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.apicurio</groupId>
      <artifactId>apicurio-registry-serdes-avro-serde</artifactId>
      <version>$version</version>
    </dependency>
  </dependencies>
</project>
POM
mvn --batch-mode --quiet --file "$folder/pom.xml" -DoutputDirectory="$folder/jars" \
  org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies
cat >"$folder/GlobalIds.java" <<'JAVA'
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.kafka.common.header.internals.RecordHeaders;

public class GlobalIds {
  public static void main(String[] arguments) throws Exception {
    String url = arguments[0] + "/apis/registry/v2";
    // each call is a start of a producer
    id(url, "users", "User");
    id(url, "users", "User");
    id(url, "orders", "Order");
    int id = id(url, "members", "User");
    URI address = URI.create(arguments[0] + "/apis/ccompat/v7/schemas/ids/" + id);
    String answer =
        HttpClient.newHttpClient()
            .send(HttpRequest.newBuilder(address).build(), HttpResponse.BodyHandlers.ofString())
            .body();
    System.out.printf("a User is written with the ID %d, whose schema for Confluent's consumers is %s%n", id, answer);
    System.exit(answer.contains("Order") && !answer.contains("User") ? 0 : 1);
  }

  private static int id(String url, String topic, String name) {
    Schema schema = SchemaBuilder.record(name).fields().requiredString("text").endRecord();
    try (AvroKafkaSerializer<GenericRecord> serializer = new AvroKafkaSerializer<>()) {
      Map<String, Object> options =
          Map.of(
              "apicurio.registry.url", url,
              "apicurio.registry.auto-register", "true",
              "apicurio.registry.headers.enabled", "false",
              "apicurio.registry.as-confluent", "true");
      serializer.configure(options, false);
      GenericRecord record = new GenericRecordBuilder(schema).set("text", "x").build();
      return ByteBuffer.wrap(serializer.serialize(topic, new RecordHeaders(), record)).getInt(1);
    }
  }
}
JAVA
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
program=$(find "$folder/registry" -name "apicurio-registry-app-*-runner.jar")
java -Xmx512m -Dquarkus.http.port="$port" -Dquarkus.http.host=127.0.0.1 -jar "$program" >"$folder/log" 2>&1 &
server=$!
url="http://127.0.0.1:$port"
for ((second = 0; second < 60; second++)); do
  ! curl --silent --fail --output /dev/null "$url/apis/ccompat/v7/subjects" || break
  sleep 1
done
java -cp "$folder/jars/*" "$folder/GlobalIds.java" "$url" 2>/dev/null
