package ailments

// promised are connections that the objects of a ward promise, from every kind of client to every kind of address.
func promised() []Try {
	var out []Try
	for _, from := range []string{"client1", "client2", "node1", "node2", "web1", "web2"} {
		out = append(out,
			Try{From: from, To: "svc/web", Is: "web1 or web2"}, Try{From: from, To: "svc/near", Is: "web1"},
			Try{From: from, To: "svc/far", Is: "web2"}, Try{From: from, To: "svc/dns", UDP: true, Is: "web1 or web2"},
			Try{From: from, To: "svc/agent", Is: "agent"}, Try{From: from, To: "node1:30012", Is: "web2"},
			Try{From: from, To: "node2:30012", Is: "web2"},
		)
	}
	return append(out,
		Try{From: "outside", To: "node1:30012", Is: "web2"}, Try{From: "outside", To: "node2:30012", Is: "web2"},
		Try{From: "outside", To: "lb/far", Is: "web2"}, Try{From: "outside", To: "node1:30013", Is: "web1 seeing outside"},
	)
}
