"""Recognizes names of this machine, for gateways that no key protects."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only mean this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("[::1]"), is_loopback("localhost.example.com")
    (True, True, False)
    """
    name = host.strip().rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def host_of(authority: str) -> str:
    """The host of ``host:port``, with the brackets of an IPv6 address.

    >>> host_of("localhost:8080"), host_of("[::1]:8080"), host_of("::1")
    ('localhost', '[::1]', '::1')
    """
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    host, colon, port = authority.rpartition(":")
    return host if colon and port.isdigit() and ":" not in host else authority
