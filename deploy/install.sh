#!/bin/sh
# Installs Tidings @VERSION@: downloads the archive for this machine, compares it with the SHA-256 below, and only then
# unpacks it. Writes bin/tidings and the shell completions below PREFIX (/usr/local), and nothing else.
#
#   sudo sh install.sh
#   PREFIX="$HOME/.local" sh install.sh
#
# TIDINGS_URL names another place that has the archives, such as a mirror or file:///srv/tidings.
set -eu

version='@VERSION@'
url="${TIDINGS_URL:-@URL@}"
prefix="${PREFIX:-/usr/local}"
sums='@SHA256SUMS@'

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

case "$(uname -s)-$(uname -m)" in
	Linux-x86_64) target=linux-x64 ;;
	Linux-aarch64 | Linux-arm64) target=linux-arm64 ;;
	Darwin-x86_64) target=darwin-x64 ;;
	Darwin-arm64) target=darwin-arm64 ;;
	*) fail "there is no binary for $(uname -s) on $(uname -m). Build it from source: docs/operating.md" ;;
esac
if ldd --version 2>&1 | grep -qi musl; then
	target="$target-musl"
elif [ "$target" = linux-x64 ] && ! grep -qw avx2 /proc/cpuinfo; then
	target=linux-x64-baseline
fi

if ! mkdir -p "$prefix/bin" 2>/dev/null || [ ! -w "$prefix/bin" ]; then
	fail "$(id -un) cannot write to $prefix/bin. Run it with sudo, or set PREFIX to a folder of yours."
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

archive="tidings-$version-$target.tar.gz"
echo "Downloading $archive"
if command -v curl >/dev/null; then
	curl --fail --silent --show-error --location --output "$folder/$archive" "$url/$archive"
else
	wget -q -O "$folder/$archive" "$url/$archive"
fi

cd "$folder"
echo "$sums" | grep "  $archive\$" >sum || fail "no SHA-256 of $archive is known."
if command -v sha256sum >/dev/null; then
	sha256sum -c sum >/dev/null 2>&1 || fail "$archive is damaged or forged. Nothing was installed."
else
	shasum -a 256 -c sum >/dev/null 2>&1 || fail "$archive is damaged or forged. Nothing was installed."
fi
tar -xzf "$archive"
cd "tidings-$version-$target"

# A running server keeps the file that it was started from.
cp tidings "$prefix/bin/.tidings.new"
chmod 755 "$prefix/bin/.tidings.new"
# Bun leaves the signature of its own binary on this one, and macOS may refuse it.
if [ "$target" = darwin-x64 ]; then
	codesign --force --sign - "$prefix/bin/.tidings.new"
fi
mv "$prefix/bin/.tidings.new" "$prefix/bin/tidings"
completion() {
	mkdir -p "$prefix/share/$2"
	cp "completions/$1" "$prefix/share/$2/$3"
}
completion tidings.bash bash-completion/completions tidings
completion _tidings zsh/site-functions _tidings
completion tidings.fish fish/vendor_completions.d tidings.fish

"$prefix/bin/tidings" --version
echo "Installed $prefix/bin/tidings. Try it: tidings serve --demo --data-dir ./demo"
