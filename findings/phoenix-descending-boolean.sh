#!/usr/bin/env bash
# Apache Phoenix 5.2.1 reads every BOOLEAN of a descending column as false, also those that it wrote itself. An UPSERT
# stores the inverted bytes, fe for true and ff for false; PBoolean.toObject expects 00 for true, as
# PBoolean.toBytes(true, DESC) makes it, and takes every other byte for false.
#
# Packages: org.apache.phoenix:phoenix-client-embedded-hbase-2.5:5.2.1 (151 MiB), ch.qos.reload4j:reload4j:1.2.22. Needs
# Maven and a JDK. Seen on 2026-11-30 with Java 17.
# Exits with 0 if it is still so, with 1 if it changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for artifact in org.apache.phoenix:phoenix-client-embedded-hbase-2.5:5.2.1 ch.qos.reload4j:reload4j:1.2.22; do
  mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
    -Dartifact="$artifact" -DoutputDirectory="$folder/jars"
done
cat >"$folder/Descending.java" <<'JAVA'
import java.sql.Connection;
import java.sql.DriverManager;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.phoenix.schema.SortOrder;
import org.apache.phoenix.schema.types.PBoolean;
import org.apache.phoenix.util.PhoenixRuntime;

public class Descending {
  public static void main(String[] arguments) throws Exception {
    Connection connection = DriverManager.getConnection("jdbc:phoenix:none");
    connection.createStatement().execute("CREATE TABLE T (B BOOLEAN NOT NULL CONSTRAINT PK PRIMARY KEY (B DESC))");
    connection.createStatement().execute("UPSERT INTO T VALUES (TRUE)");
    var rows = PhoenixRuntime.getUncommittedDataIterator(connection).next().getSecond();
    byte[] key = CellUtil.cloneRow(rows.get(0));
    Object read = PBoolean.INSTANCE.toObject(key, SortOrder.DESC);
    System.out.printf("TRUE is stored as %02x and read as %s%n", key[0], read);
    System.exit(key[0] == (byte) 0xfe && Boolean.FALSE.equals(read) ? 0 : 1);
  }
}
JAVA
java -cp "$folder/jars/*" "$folder/Descending.java" 2>/dev/null
