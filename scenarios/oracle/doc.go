// Package oracle is the Service API as an executable specification: for a state
// of a cluster and a packet it says what may become of the packet, and which
// sentence of the API says so.
//
// It is written from the API's documentation and its KEPs, and restates what they
// promise. It knows nothing of rules, and not the proxier's model, so that a
// mistake there is not repeated here.
package oracle
