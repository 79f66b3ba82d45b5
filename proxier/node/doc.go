// Package node follows the Node object of the machine that the proxier runs on.
//
// Start stands between proxier/config, which delivers the object, and the
// configuration of the proxier: it waits until the node has addresses, and pod
// ranges where these tell local traffic, and returns a Manager that has both.
// They are taken once. Rules are made from them, so when they change later the
// process has to begin anew: the Manager calls the exit function that it was
// given. It also tells the health server what the node is like now. The zone is
// not its business: proxiers follow the Node object themselves.
//
// HostIPs, DetectAddresses and Name work out which addresses, which primary
// family and which name the node has. They look at nothing but their arguments.
package node
