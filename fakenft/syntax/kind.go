package syntax

// PrimaryKind is nft's name of the kind of an expression that reads something of a packet or draws a number; empty for the others.
func PrimaryKind(e Expr) string {
	switch e.(type) {
	case *Payload:
		return "payload"
	case *Exthdr:
		return "exthdr"
	case *Meta:
		return "meta"
	case *CT:
		return "ct"
	case *RT:
		return "rt"
	case *Socket:
		return "socket"
	case *Osf:
		return "osf"
	case *XFRM:
		return "xfrm"
	case *Fib:
		return "fib"
	case *Numgen:
		return "numgen"
	case *Hash:
		return "hash"
	}
	return ""
}
