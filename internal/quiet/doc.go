// Package quiet says whether the machine still has packets in its queues. The comparisons with the real kernel wait until it has none: the
// time that a packet lies in a queue depends on the load of the machine, so no fixed time is long enough.
//
// A packet that crosses a wire between two namespaces, or lo, is put into a queue of the CPU that sent it. Usually the sender's own system
// call empties that, but on a busy machine it is left to a thread of the kernel, which waits for its turn as others do. A packet that is in
// no queue has gone all its way, or waits for an answer to a neighbour solicitation. Only Linux 5.10 and later tell their queues' lengths;
// on others Patience ends with an error.
package quiet
