package cluster

import (
	"errors"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/playground/rules"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/page"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// Walk follows the connection that a packet begins through the nodes and back. What comes from outside is handed to the tab's node.
func (t *Tab) Walk(packet string) rules.Walked {
	if t.book == nil {
		return rules.Walked{Problem: &rules.Problem{Message: "the objects make no cluster"}}
	}
	in, err := t.input(packet)
	var syntax *inet.SyntaxError
	if errors.As(err, &syntax) {
		return rules.Walked{Problem: &rules.Problem{Line: 1, Column: syntax.Column, Token: syntax.Token, Message: syntax.Msg}}
	}
	told, err := t.follow(in, err)
	if err != nil {
		return rules.Walked{Problem: &rules.Problem{Message: err.Error()}}
	}
	var body strings.Builder
	if err := page.TraceBody(&body, told); err != nil {
		return rules.Walked{Problem: &rules.Problem{Message: err.Error()}}
	}
	return rules.Walked{Sentence: told.Sentence, Body: body.String(), Lines: []int{}}
}

// input reads a packet, in which objects may be named.
func (t *Tab) input(packet string) (inet.Input, error) {
	if !names.IsNamed(packet) {
		return inet.ParseInput(packet)
	}
	named, err := t.book.Packet(packet)
	if err != nil {
		return inet.Input{}, err
	}
	in, err := inet.ParseInput(named.Text)
	return in, named.Error(err)
}

// follow tells what becomes of a connection, what stopped it, and why it does not come to other endpoints.
func (t *Tab) follow(in inet.Input, err error) (*story.Story, error) {
	if err != nil {
		return nil, err
	}
	in.In, in.Local = "", false // who has the source sends it
	view, err := t.cluster.View(in.Src, in.Dst)
	if err != nil {
		return nil, err
	}
	followed, err := view.Follow(in, t.node)
	if err != nil {
		return nil, err
	}
	told := story.OfConnections(in.Full(), followed.Connections, story.Options{Names: t.book, Doubts: followed.Doubts})
	told.Notes = append(told.Notes, followed.Notes...)
	if told.Causes, err = view.StoppedBy(followed); err != nil {
		return nil, err
	}
	why := view.WhyNotFollowed(followed, t.book)
	told.Unreached, told.Notes = why.Unreached, append(told.Notes, why.Notes...)
	return &told, nil
}
