"""BookingAPI: the 40 tools of a travel site as schemas, and a simulated world that answers them."""
