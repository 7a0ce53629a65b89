# Sourced by ./run and ./test: installs the Debian packages that are missing, as root, quietly.

build_packages="gcc libc6-dev cmake ninja-build pkg-config libzmq3-dev libsqlite3-dev libjansson-dev
  libzstd-dev libxxhash-dev libwebsockets-dev libsodium-dev
  libopenmpi-dev openmpi-bin"
web_packages="clang lld nodejs npm"
test_packages="libcmocka-dev g++ chromium libclang-rt-14-dev llvm python3 git"
long_packages="python3-torch gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"

# install_packages NAME...: does nothing, and needs no network, if all are there.
install_packages() {
  local missing=() name
  for name in "$@"; do
    # another provider of these (not Debian's package) is as good
    case $name in
      nodejs) command -v node >/dev/null && continue ;;
      npm | chromium) command -v "$name" >/dev/null && continue ;;
    esac
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "installing: ${missing[*]}" >&2
  if [ "$(id -u)" -ne 0 ]; then
    echo "not root: please install these packages first: ${missing[*]}" >&2
    return 1
  fi
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
