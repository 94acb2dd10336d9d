#!/usr/bin/env bash
# Runs `install` and `test` of Homebrew's formula by plain Ruby: Homebrew itself is not in any package index. The functions that it gives a formula
# (`bin`, `man1`, `std_cargo_args`, ...) are replaced by the same paths and arguments below; their searches in other places are not tested.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v ruby >/dev/null || { [ "$(id -u)" = 0 ] && apt-get install -y -qq --no-install-recommends ruby >/dev/null; }
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
ruby - packaging/homebrew/nc3z.rb "$prefix" <<'RUBY'
require "fileutils"
require "pathname"

# A path that things can be installed into, as Homebrew's.
class Pathname
  def install(*files)
    mkpath
    files.each { |file| FileUtils.cp(file, self) }
  end
end

class Formula
  class << self
    attr_reader :trial

    %i[desc head license depends_on].each { |word| define_method(word) { |*| nil } }
    def test(&block) = @trial = block
  end

  attr_reader :prefix

  def initialize(prefix) = @prefix = Pathname(prefix)
  def bin = prefix/"bin"
  def man1 = prefix/"share/man/man1"
  def pkgshare = prefix/"share/nc3z"

  def system(*command)
    Kernel.system(*command.map(&:to_s)) || abort("homebrew: failed: #{command.join(" ")}")
  end

  def std_cargo_args(root: prefix, path: ".") = ["--locked", "--root=#{root}", "--path=#{path}"]

  def generate_completions_from_executable(program, *args, shells:)
    places = { bash: "etc/bash_completion.d/nc3z", zsh: "share/zsh/site-functions/_nc3z", fish: "share/fish/vendor_completions.d/nc3z.fish" }
    shells.each do |shell|
      place = prefix/places.fetch(shell)
      place.dirname.mkpath
      text = IO.popen([program.to_s, *args, shell.to_s], &:read)
      abort("homebrew: no completions for #{shell}") unless $?.success? && !text.empty?
      place.write(text)
    end
  end
end

load ARGV[0]
formula = Nc3z.new(ARGV[1])
formula.install
trial = formula.prefix/"trial"
trial.mkpath
Dir.chdir(trial) { formula.instance_eval(&Nc3z.trial) }
installed = formula.prefix.glob("**/*").select(&:file?).map { |path| path.relative_path_from(formula.prefix).to_s }
%w[bin/nc3z share/man/man1/nc3z-archive.1 share/zsh/site-functions/_nc3z include/nc3z.h lib/pkgconfig/nc3z.pc lib/libnc3z.so lib/nc3z/libnc3z_netcdf_plugin.so].each do |path|
  abort("homebrew: #{path} is missing") unless installed.include?(path)
end
puts "homebrew: the formula's install and test ran; #{installed.size} files"
RUBY
