// Package forall says what becomes of all first packets of a host at once: of each destination, source, protocol, port and device. It
// reads the rules
// of iptables and nftables, asks packetsim what routing says, and gives the fates as one function, exact probabilities included.
//
//	before, err := forall.Of(host, forall.Options{})
//	after, err := forall.Of(changed, forall.Options{Against: before})
//	for d := range before.Diff(after) {
//		fmt.Println(d.Witness.Full(), d.Here, d.There)
//	}
//
// Two hosts treat all packets alike if and only if their Fates are equal, in whatever order or language their rules are written.
//
// A first packet is the first one of a connection, as most programs send it: a SYN of TCP, an echo request, whole, without options, with
// the default TTL
// and no mark. What rules ask of a packet beside that (its length, the user of its socket, how many came before it) is a condition with
// a name, which
// holds or does not; answers name those that they depend on. What is not modelled is a Fate that says so.
package forall
