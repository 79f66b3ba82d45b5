// Package scratchimage packs one static program into a container image from scratch, without Docker, which would keep it: for the pods of
// kind clusters and for releases.
package scratchimage
