package probe

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
)

// message is what agents say to each other over the connections that are tried: a line of JSON over TCP, else a datagram.
type message struct {
	// Mark is short and another for every other message. It stands first, where the print of a packet still has it (package raw).
	Mark string `json:"m,omitzero"`
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
	m.Mark = ""
	return m, nil
}

// markLength is how many letters of a mark a print has behind the 6 that JSON writes before them.
const markLength = 6

// line is the message as a line.
func (m message) line() []byte {
	sum := fnv.New64a()
	for _, text := range []string{m.Question, m.Answer, m.Server} {
		_, _ = sum.Write([]byte(text + "\n")) // never fails
	}
	m.Mark = base64.RawURLEncoding.EncodeToString(sum.Sum(nil))[:markLength]
	b, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("message %+v: %v", m, err)) // addresses and texts always have a form
	}
	return append(b, '\n')
}
