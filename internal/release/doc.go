// Command release tries what a release has: it lists the files of goreleaser's folder with their sizes, says of each what was tried, and
// fails if something of it is not as it should be. `make release-snapshot` runs it.
//
// A program for this machine's system and architecture is started, and walks a packet of a recorded node. One for Linux on arm64 is started
// by qemu-aarch64-static if that is installed. Of other programs the header is read: the system, the architecture, and that no library is
// asked for. A deb is installed by dpkg below a folder, an rpm unpacked by rpm2cpio, an image unpacked into a root for chroot, where these
// programs are.
package main
