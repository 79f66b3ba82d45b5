// Package snapshot holds the NodeSnapshot document: all that a walk needs from one node (one network namespace), as YAML or JSON.
//
// It stands behind packetsim on the project's line: Take makes a document from this machine, Of from a packetsim.Host, Read from text;
// Write writes it, and NewHost builds the Host that walks packets as the node does. ParseConntrack reads connections from what the
// conntrack tool prints.
//
// Values that no node can have are refused with line, column and field: unknown fields, values of the wrong type, devices that are not
// there, other versions. If a machine has something that the document has no place for, Take names it in Unread, with the reason.
//
// Refused by design: YAML anchors and aliases, several documents in one file.
package snapshot
