package live

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// conclude makes the answer of the calls.
func (q *questions) conclude() {
	w := q.why
	slices.SortStableFunc(w.Causes, func(a, b cause.Cause) int { return cmp.Compare(q.counts[b.Key()], q.counts[a.Key()]) })
	w.Answer = WhyYes
	for i := range w.Calls {
		c := &w.Calls[i]
		for _, d := range c.doubts {
			if !slices.Contains(w.Doubts, d) {
				w.Doubts = append(w.Doubts, d)
			}
		}
		if c.Answer == WhyYes && len(c.doubts) > 0 {
			c.Answer = WhyUnknown
		}
		switch {
		case c.Answer == WhyNo:
			w.Answer = WhyNo
		case c.Answer == WhyUnknown && w.Answer == WhyYes:
			w.Answer = WhyUnknown
		}
	}
	if w.Answer == WhyUnknown {
		for _, d := range w.Doubts {
			w.Causes = append(w.Causes, cause.OfDoubt(d))
		}
	}
	w.Assumed = q.routed.texts()
	w.Sentence = w.sentence()
}

// sentence is the answer in one line.
func (w *Why) sentence() string {
	switch w.Answer {
	case WhyYes:
		return fmt.Sprintf("yes%s: %s reaches %s%s", w.assuming(), w.From, w.To, w.servers())
	case WhyNo:
		c := &w.Causes[0]
		at := ""
		if c.Host != "" && !strings.Contains(c.Says, c.Host) {
			at = " on " + c.Host
		}
		return fmt.Sprintf("no%s (%s%s): %s", w.share(), c.Code, at, c.Says)
	}
	if len(w.Doubts) > 0 {
		return fmt.Sprintf("unknown: unless %s, %s reaches %s%s", w.Doubts[0].Unless, w.From, w.To, w.assuming())
	}
	i := slices.IndexFunc(w.Calls, func(c Call) bool { return c.Unknown != "" })
	return fmt.Sprintf("unknown: %s", w.Calls[i].Unknown)
}

// assuming is what was taken for granted of the router.
func (w *Why) assuming() string {
	if len(w.Assumed) == 0 {
		return ""
	}
	return ", if " + strings.Join(w.Assumed, ", and if ")
}

// share says how much of what was asked is stopped, where that is not all.
func (w *Why) share() string {
	calls, some := 0, false
	for i := range w.Calls {
		if w.Calls[i].Answer == WhyNo {
			calls++
			some = some || w.Calls[i].Reached > 0
		}
	}
	switch {
	case calls < len(w.Calls):
		return fmt.Sprintf(", not by %d of %d calls", calls, len(w.Calls))
	case some:
		return ", not always"
	}
	return ""
}

// servers says who answers.
func (w *Why) servers() string {
	var all []string
	for i := range w.Calls {
		for _, way := range w.Calls[i].Ways {
			if way.Server != "" && !slices.Contains(all, way.Server) {
				all = append(all, way.Server)
			}
		}
	}
	switch len(all) {
	case 0:
		return ""
	case 1:
		return " (" + all[0] + ")"
	}
	return fmt.Sprintf(" (%d servers)", len(all))
}

// WriteJSON writes the answer as JSON.
func (w *Why) WriteJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(w)
}

// WriteText writes the answer for people: the sentence, then each cause with how to fix it, then the calls.
func (w *Why) WriteText(out io.Writer) error {
	p := &printer{w: out}
	p.printf("%s\n", w.Sentence)
	for i := range w.Causes {
		c := &w.Causes[i]
		if slices.ContainsFunc(w.Doubts, func(d packetsim.Doubt) bool { return d.Unless == c.What }) {
			continue // told below
		}
		if i > 0 {
			p.printf("also %s: %s\n", c.Code, c.Says)
		}
		p.printf("  decided by: %s\n", c.What)
		if c.Owner != "" {
			p.printf("  written by: %s\n", c.Owner)
		}
		if c.Remedy != "" {
			p.printf("  fix it:     %s\n", c.Remedy)
		}
	}
	for _, d := range w.Doubts {
		p.printf("undecided (%s): unless %s%s\n", cause.OfDoubt(d).Code, d.Unless, prefixed("; see: ", d.See))
	}
	for i := range w.Calls {
		p.call(&w.Calls[i])
	}
	for _, note := range w.Notes {
		p.printf("note: %s\n", note)
	}
	return p.err
}

// call writes a call with its ways; those that are alike but for the server are one line each.
func (p *printer) call(c *Call) {
	if c.Call == "" {
		return
	}
	p.printf("%s: %s", c.Call, c.Answer)
	if c.Unknown != "" {
		p.printf(": %s", c.Unknown)
	}
	p.printf("\n")
	for _, w := range alike(c.Ways) {
		p.printf("  %5.1f%%  %s\n", 100*w.Probability, w.text())
	}
}

// alike are ways of which those that end at the same hosts for the same cause are one.
func alike(ways []Way) []Way {
	var out []Way
	for _, w := range ways {
		i := slices.IndexFunc(out, func(o Way) bool {
			return w.Cause != nil && o.Cause != nil && w.Cause.Key() == o.Cause.Key() && slices.Equal(w.There, o.There)
		})
		if i < 0 {
			out = append(out, w)
			continue
		}
		out[i].Probability += w.Probability
	}
	return out
}

// hostsText are the hosts of a way: the first ones of a packet that goes round until its TTL has run out.
func hostsText(hosts []string) string {
	const told = 6
	if len(hosts) <= told+1 {
		return strings.Join(hosts, " > ")
	}
	return fmt.Sprintf("%s > and so on (%d hosts)", strings.Join(hosts[:told], " > "), len(hosts))
}

// text is a way in a line.
func (w *Way) text() string {
	way := hostsText(w.There)
	switch {
	case w.Cause != nil && way == "":
		return string(w.Cause.Code)
	case w.Cause != nil:
		return way + ": " + string(w.Cause.Code)
	}
	text := fmt.Sprintf("%s at %s, which sees %s", way, w.At, w.Client)
	back := slices.Clone(w.Back)
	if slices.Reverse(back); !slices.Equal(back, w.There) {
		text += "; back by " + hostsText(w.Back)
	}
	return text
}
