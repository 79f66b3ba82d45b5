// Package quiet tells whether the machine still has packets to deal with. The comparisons with the real kernel wait for that: how long a
// packet lies in a queue depends on what else the machine does, so that no fixed time is long enough.
//
// A packet that crosses a wire between two namespaces, or lo, is put into a queue of the CPU that sent it. Usually the sender's own system
// call empties that, but on a busy machine it is left to a thread of the kernel, which waits for its turn as others do. A packet that is in
// no queue has gone all its way, or waits for an answer to a neighbour solicitation. Only Linux 5.10 and later tell their queues' lengths;
// on others Patience ends with an error.
package quiet
