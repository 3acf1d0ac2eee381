"""What is in the files, as data: records, tables and names, without input and output."""
