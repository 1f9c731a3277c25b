"""The APIs whose answers are checked, a file each: readers and writers around one check."""
