package gather

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/packetsim/snapshot/parcel"
)

const (
	atOnce = 10 // nodes that are asked at the same time
	// glance is how long to wait between two looks at a pod.
	glance = 500 * time.Millisecond
	// removing is how long removing a pod may take, also after an interrupt; making one may take as long, since it is never given up half way.
	removing = 30 * time.Second
	// patience is how many looks a pod that is being removed is given until it is removed by force.
	patience = 20
	readings = 3 // of a log that did not come whole
)

// collect asks the nodes that have no reason yet not to answer. What no node lets in, or an interrupt, ends all of it.
func (g *Gatherer) collect(ctx context.Context, nodes []Node) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range nodes {
		n := &nodes[i]
		if n.Why != "" {
			g.Say(fmt.Sprintf("%s: no snapshot: %s", n.Name, n.Why))
			continue
		}
		group.Go(func() error {
			if ctx.Err() != nil {
				return ErrInterrupted
			}
			if err := g.ask(ctx, fmt.Sprintf("%s-%s-%d", nameValue, g.Run, i+1), n); err != nil {
				return err
			}
			if n.Why != "" {
				g.Say(fmt.Sprintf("%s: no snapshot: %s", n.Name, n.Why))
			} else {
				g.Say(fmt.Sprintf("%s: %d bytes", n.Name, len(n.Text)))
			}
			return nil
		})
	}
	return group.Wait()
}

// ask has a pod of a name print the snapshot of a node, and removes it. Its error is one that every node would have.
func (g *Gatherer) ask(ctx context.Context, name string, n *Node) (err error) {
	// A pod whose making was given up half way might come to be after its removal.
	making, made := context.WithTimeout(context.WithoutCancel(ctx), removing)
	_, err = g.API.pods(g.Namespace).Create(making, g.pod(name, n.Name), metav1.CreateOptions{})
	made()
	switch {
	case isForbidden(err):
		return g.refusedPod(err)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no namespace %s: make it, or name another one with --pod-namespace: %w", g.Namespace, err)
	case apierrors.IsInvalid(err), apierrors.IsAlreadyExists(err):
		return fmt.Errorf("the API server does not take the pod: %w", err)
	}
	defer func() { g.remove(ctx, name) }()
	if err != nil { // it may have been made all the same
		n.Why = fmt.Sprintf("the pod could not be made: %v", err)
		return nil
	}
	if n.Text, n.Why, err = g.printed(ctx, name); err != nil || n.Why != "" {
		return err
	}
	n.Snapshot, err = snapshot.Read("snapshot of "+n.Name, bytes.NewReader(n.Text))
	switch {
	case err != nil:
		n.Why = fmt.Sprintf("its snapshot cannot be read (is the collector of another version?): %v", err)
	case n.Snapshot.Hostname != n.Name:
		n.Why = fmt.Sprintf("its snapshot is of %s", n.Snapshot.Hostname)
	}
	if n.Why != "" {
		n.Text, n.Snapshot = nil, nil
	}
	return nil
}

// printed is what a pod has printed, or why it has not.
func (g *Gatherer) printed(ctx context.Context, name string) (text []byte, why string, err error) {
	if why, err := g.started(ctx, name); why != "" || err != nil {
		return nil, why, err
	}
	reading, read := context.WithTimeout(ctx, g.NodeTime)
	defer read()
	var beside []string
	var wrong error
	for range readings {
		if text, beside, wrong = g.log(reading, name); wrong == nil {
			return text, "", nil
		}
		if isForbidden(wrong) {
			return nil, "", g.asMissing(wrong, Right{Verb: "get", Resource: "pods/log", Namespace: g.Namespace})
		}
		if reading.Err() != nil || g.Pause(reading, glance) != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return nil, "", ErrInterrupted
	}
	return nil, g.whyNot(ctx, name, wrong, beside), nil
}

// log reads the pod's log until its parcel ends, as it is written: so it is read before the kubelet can rotate it.
func (g *Gatherer) log(ctx context.Context, name string) (text []byte, beside []string, err error) {
	log, err := g.API.log(ctx, g.Namespace, name)
	if err != nil {
		return nil, nil, fmt.Errorf("the log cannot be read: %w", err)
	}
	defer func() { _ = log.Close() }()
	return parcel.Read(name, log)
}

// whyNot says why a log had no whole snapshot: what was wrong with it, how the collector ended, and the last that it said.
func (g *Gatherer) whyNot(ctx context.Context, name string, wrong error, beside []string) string {
	why := wrong.Error()
	if pod, err := g.API.pods(g.Namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
		if end := ended(pod); end != "" {
			why = end + "; " + why
		}
	}
	if len(beside) > 0 {
		why += "; it said: " + strings.Join(beside[max(0, len(beside)-3):], " / ")
	}
	return why
}

// started waits until a pod has a log. Why says why it never will.
func (g *Gatherer) started(ctx context.Context, name string) (why string, err error) {
	var p progress
	for range max(1, int(g.NodeTime/glance)) {
		pod, err := g.API.pods(g.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case ctx.Err() != nil:
			return "", ErrInterrupted
		case isForbidden(err):
			return "", g.asMissing(err, Right{Verb: "get", Resource: "pods", Namespace: g.Namespace})
		case apierrors.IsNotFound(err):
			return "somebody has removed the pod", nil
		case err != nil:
			p.why = err.Error()
		default:
			if p = progressOf(pod); p.started {
				return "", nil
			}
		}
		if p.failed {
			return p.why, nil
		}
		if g.Pause(ctx, glance) != nil {
			return "", ErrInterrupted
		}
	}
	return fmt.Sprintf("it did not answer within %s: %s", g.NodeTime, p.why), nil
}

// remove removes a pod, whoever has ended the gathering meanwhile, and looks whether it is gone. By force only what its
// node does not let go.
func (g *Gatherer) remove(ctx context.Context, name string) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), removing)
	defer done()
	if err := g.removed(ctx, name); err != nil {
		g.Say(fmt.Sprintf("the pod %s/%s could not be removed: %v; remove it with: %s", g.Namespace, name, err, g.removal()))
	}
}

func (g *Gatherer) removed(ctx context.Context, name string) error {
	pods, o := g.API.pods(g.Namespace), metav1.DeleteOptions{}
	var last error
	for try := range 2 * patience {
		if try == patience {
			o.GracePeriodSeconds = ptr.To(int64(0))
		}
		if try%patience == 0 || last != nil {
			last = pods.Delete(ctx, name, o)
		}
		if apierrors.IsNotFound(last) {
			return nil
		}
		if last == nil {
			if _, err := pods.Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
				return nil
			}
		}
		if err := g.Pause(ctx, glance); err != nil {
			return errors.Join(last, err)
		}
	}
	if last == nil {
		last = errors.New("it is still there")
	}
	return last
}

// Clean removes the pods that runs have left in a namespace, of one run or, if it is empty, of all of them, and returns their names.
func (g *Gatherer) Clean(ctx context.Context, run string) ([]string, error) {
	missing, err := g.API.missing(ctx, cleaningRights(g.Namespace))
	if err == nil && len(missing) > 0 {
		err = &MissingError{missing, g.Namespace}
	}
	if err != nil {
		return nil, err
	}
	selector := labelName + "=" + nameValue
	if run != "" {
		selector += "," + labelRun + "=" + run
	}
	pods, err := g.API.pods(g.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, g.asMissing(err, cleaningRights(g.Namespace)...)
	}
	var names []string
	for i := range pods.Items {
		name := pods.Items[i].Name
		if err := g.removed(ctx, name); err != nil {
			return names, fmt.Errorf("remove pod %s/%s: %w", g.Namespace, name, err)
		}
		names = append(names, name)
	}
	return names, nil
}
