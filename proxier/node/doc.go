// Package node follows the Node object of the machine that the proxier runs on.
//
// Start stands between proxier/config, which delivers the object, and the configuration of the proxier: it waits until the node has
// addresses, and pod ranges where these tell local traffic, and returns a Manager that has both. The Manager reads them once. Rules are
// made from them, so the process has to start again when they change later: the Manager calls the exit function that it was given. It also
// tells the health server the state of the node. It does not handle the zone: proxiers follow the Node object themselves.
//
// HostIPs, DetectAddresses and Name work out which addresses, which primary
// family and which name the node has. They look at nothing but their arguments.
package node
