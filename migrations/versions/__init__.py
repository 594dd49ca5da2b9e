"""One module per released revision of the schema; never edited afterwards."""
