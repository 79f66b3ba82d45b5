// Package explore tries all short sequences of what happens to a flow: datagrams and
// segments of a client, a server that stops answering and answers again, endpoints and
// services that come and go, proxiers that start anew, and time. After each
// sequence the client sends once more, and package oracle says what may become of it: no
// sequence may leave a flow where nobody answers longer than the specification allows.
//
// It stands beside scenarios/search/trial on the line: that one judges cases which somebody
// made, this one makes every case of a small world.
package explore
