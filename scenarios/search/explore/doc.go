// Package explore tries all short sequences of events of a flow: datagrams and
// segments of a client, a server that stops answering and answers again, endpoints and
// services that come and go, restarts of proxiers, and time. After each
// sequence the client sends once more, and package oracle says what may happen to this packet: no
// sequence may leave a flow without an answer for longer than the specification allows.
//
// It stands beside scenarios/search/trial on the line: trial judges given cases,
// explore makes every case of a small world.
package explore
