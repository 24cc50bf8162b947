"""Personal data: e-mail and IP addresses, numbers of phones, cards and bank accounts."""
