// Package probe puts agents at the ends of real connections. They listen, call, keep connections, send raw packets and
// report what arrived. The Client talks to them.
//
// An agent (package agent, `chainwalk probe serve`) runs wherever traffic starts or ends: in a pod, on a node, in a machine outside. It
// takes requests on a unix socket. A relay (`chainwalk probe relay`) on the same machine carries them there from its standard input, so
// that one stream into each machine is enough. The relay itself takes snapshots of the machine and runs commands there. A Client speaks to
// one relay, or to one agent, for any number of callers at once.
//
// A server says in its answer who it is, to which of its addresses the question came and from which one, so a caller knows who answered it
// and how its own address was translated. Each agent keeps a record of Arrivals, which shows whether the question or the answer was lost.
// Words such as icmp-port-unreachable come from REJECT's --reject-with; who sent an ICMP error is known from the socket's error queue,
// which TCP sockets have from Linux 5.9 on.
//
// Agents judge nothing: they do not know what should have arrived.
package probe
