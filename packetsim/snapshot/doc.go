// Package snapshot holds the NodeSnapshot document: all that a walk needs from one node (one network namespace), as YAML or JSON.
//
// It stands behind packetsim on the project's line: Take makes a document from this machine, Of from a packetsim.Host, Read from text;
// Write writes it, and NewHost builds the Host that walks packets as the node does. ParseConntrack reads connections from what the
// conntrack tool prints.
//
// Whatever a document says that no node can have is refused with line, column and field: unknown fields, values of the wrong type, devices
// that are not there, other versions. What a machine has and the document has no place for is never dropped in silence: Take names it in
// Unread, with the reason.
//
// Refused by design: YAML anchors and aliases, several documents in one file.
package snapshot
