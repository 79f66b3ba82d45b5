// Package node is a node of a scenario's cluster: a whole proxier that runs the
// tools through any exec.Interface, from its start to what its health check says. The
// proxier is this project's own (Chainwalk), or any that can be a Proxy.
//
// It stands between scenarios/world/api, which feeds the proxiers, and the backends, which give each node a Kernel: what runs its tools,
// and what its proxier needs of its kernel beside them. Nodes has the work of all nodes of a cluster, from the first sync to faults: it is
// a Session except for the packets.
//
// The package depends on neither a fake nor a real kernel, and sends no packets.
package node
