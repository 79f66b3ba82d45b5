package controller

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// TestSlices runs testdata/slices: "scenario" makes a controller for a scenario with these objects and applies them, "apply" and "delete"
// change something. The output is what becomes of the slices.
func TestSlices(t *testing.T) {
	datadriven.Walk(t, "testdata/slices", func(t *testing.T, path string) {
		var c manifest.SliceController
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var change manifest.Change
			var err error
			switch d.Cmd {
			case "scenario":
				objects := read(t, d.Input)
				if !manifest.NeedController(objects) {
					return ""
				}
				c = New(objects)
				change, err = c.Apply(objects)
			case "apply":
				change, err = c.Apply(read(t, d.Input))
			case "delete":
				change, err = c.Delete(refs(t, d.Input))
			default:
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			if err != nil {
				return err.Error()
			}
			return printed(change)
		})
	})
}

func read(t *testing.T, text string) []manifest.Object {
	t.Helper()
	objects, err := manifest.ReadObjects("in.yaml", strings.NewReader(text))
	require.NoError(t, err)
	return objects
}

func refs(t *testing.T, text string) (out []manifest.Ref) {
	t.Helper()
	for line := range strings.Lines(text) {
		ref, err := manifest.ParseRef(strings.TrimSpace(line))
		require.NoError(t, err)
		out = append(out, ref)
	}
	return out
}

func printed(c manifest.Change) string {
	var b strings.Builder
	for _, o := range c.Apply {
		slice := o.Object.(*discoveryv1.EndpointSlice)
		fmt.Fprintf(&b, "apply %s of %s", o.Ref(), slice.Labels[discoveryv1.LabelServiceName])
		for _, p := range slice.Ports {
			fmt.Fprintf(&b, ", %s %s %d", *p.Name, *p.Protocol, *p.Port)
		}
		b.WriteString("\n")
		for _, e := range slice.Endpoints {
			fmt.Fprintf(&b, "  %s on %s", e.Addresses[0], *e.NodeName)
			if e.Zone != nil {
				b.WriteString(" zone " + *e.Zone)
			}
			for _, condition := range []struct {
				name string
				is   *bool
			}{{"ready", e.Conditions.Ready}, {"serving", e.Conditions.Serving}, {"terminating", e.Conditions.Terminating}} {
				if *condition.is {
					b.WriteString(" " + condition.name)
				}
			}
			if e.Hints != nil {
				fmt.Fprintf(&b, " for zones %v nodes %v", e.Hints.ForZones, e.Hints.ForNodes)
			}
			b.WriteString("\n")
		}
	}
	for _, ref := range c.Delete {
		fmt.Fprintf(&b, "delete %s\n", ref)
	}
	return b.String()
}

const twoPortNumbers = `
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIPs: [172.30.0.41, "fd00:30::41"], selector: {app: web}, ports: [{port: 80, targetPort: http}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: node1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: web}}, spec: {nodeName: node1, containers: [{name: a, ports: [{name: http, containerPort: 81}]}]}, status: {podIP: 10.244.1.2}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, labels: {app: web}}, spec: {nodeName: node1, containers: [{name: a, ports: [{name: http, containerPort: 82}]}]}, status: {podIP: 10.244.1.3}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c, labels: {app: web}}, spec: {nodeName: node1, containers: [{name: a, ports: [{name: http, containerPort: 83}]}]}, status: {podIP: 10.244.1.4}}
---
{apiVersion: v1, kind: Pod, metadata: {name: d, labels: {app: web}}, spec: {nodeName: node1, containers: [{name: a, ports: [{name: http, containerPort: 83}]}]}, status: {podIP: 10.244.1.5}}
`

// TestSlicesAreTheSameEveryTime has maps in another order each time.
func TestSlicesAreTheSameEveryTime(t *testing.T) {
	objects := read(t, twoPortNumbers)
	first, err := New(objects).Apply(objects)
	require.NoError(t, err)
	require.Len(t, first.Apply, 4, "three of IPv4, and an empty one of IPv6")
	for range 50 {
		again, err := New(objects).Apply(objects)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
}

func TestAClonesChangesAreItsOwn(t *testing.T) {
	objects := read(t, twoPortNumbers)
	c := New(objects)
	clone := c.Clone()
	_, err := clone.Apply(objects)
	require.NoError(t, err)
	change, err := c.Apply(objects)
	require.NoError(t, err)
	assert.Len(t, change.Apply, 4, "it has made none yet")
}
