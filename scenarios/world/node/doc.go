// Package node is a node of a scenario's cluster: a whole proxier that runs the
// tools through any exec.Interface, from its start to what its health check says. The
// proxier is this project's own (Chainwalk), or any that can be a Proxy.
//
// It stands between scenarios/world/api, which feeds the proxiers, and the backends,
// which give each node a Kernel: what runs its tools, and what its proxier needs of
// its kernel beside them. What all nodes of a cluster do, from the first sync to
// faults, is in Nodes, which is a Session but for the packets.
//
// It knows no fake and no real kernel, and sends no packets.
package node
