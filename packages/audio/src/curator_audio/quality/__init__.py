"""Speech quality as estimated by models: DNSMOS, UTMOS and SQUIM."""
