package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
)

// message is what agents say to each other over the connections that are tried: a line of JSON over TCP, else a datagram.
type message struct {
	// Question is the token of what is asked, and Keep the name under which the asker keeps the connection.
	Question string `json:"question,omitzero"`
	Keep     string `json:"keep,omitzero"`
	// Answer is the token of what is answered; the others say who answers, where the question came to, and from where.
	Answer string         `json:"answer,omitzero"`
	Server string         `json:"server,omitzero"`
	At     netip.AddrPort `json:"at,omitzero"`
	Client netip.AddrPort `json:"client,omitzero"`
}

// maxMessage is how long a message may be.
const maxMessage = 1024

// maxToken is how long tokens and names in messages may be.
const maxToken = 128

var errMessage = errors.New("no message of an agent")

// parseMessage reads a message, with or without the end of its line.
func parseMessage(b []byte) (m message, err error) {
	if len(b) > maxMessage {
		return m, errMessage
	}
	if err := unmarshal(b, &m); err != nil {
		return message{}, fmt.Errorf("%w: %w", errMessage, err)
	}
	question, answer := m.Question != "", m.Answer != ""
	if question == answer || max(len(m.Question), len(m.Keep), len(m.Answer), len(m.Server)) > maxToken {
		return message{}, errMessage
	}
	return m, nil
}

// line is the message as a line.
func (m message) line() []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("message %+v: %v", m, err)) // addresses and texts always have a form
	}
	return append(b, '\n')
}
