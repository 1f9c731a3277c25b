"""Keys that tests use."""

KEY = "gw_test_key_of_the_default_tenant"
OTHER_KEY = "gw_test_key_of_acme"
