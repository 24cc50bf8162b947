"""Personal data: find email addresses, IP addresses, phone numbers, card numbers and IBANs."""
