// Package gathering tries on a real cluster what "chainwalk gather" and "chainwalk doctor -A" do there: a service account with the rights
// of docs/gather.yaml, faults on nodes that the doctor has to name, each right taken away in turn, and nothing left behind.
//
// It runs the released programs as a user does, chainwalk and the image of chainwalk-collect, and asks the cluster with rights of its own
// beside. It is tests only (make gather-e2e).
package gathering
