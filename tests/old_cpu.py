"""Runs a program on this processor as if it had no AVX, AVX2, BMI or later: Linux on x86-64 with CPUID faulting.

The kernel makes every CPUID instruction of the program fault (arch_prctl ARCH_SET_CPUID); a tracer answers in the processor's
place, with those bits cleared. No emulator is needed, and everything else runs at full speed.

    old_cpu.py PROGRAM [ARGUMENTS...]      exit code of the program; 125 where this machine cannot do it
"""

import ctypes
import mmap
import os
import platform
import signal
import sys

PTRACE_TRACEME, PTRACE_PEEKTEXT, PTRACE_POKETEXT, PTRACE_CONT, PTRACE_SINGLESTEP = 0, 1, 4, 7, 9
PTRACE_GETREGS, PTRACE_SETREGS, PTRACE_SETOPTIONS = 12, 13, 0x4200
O_TRACECLONE, O_EXITKILL = 0x8, 0x100000
SYS_ARCH_PRCTL, ARCH_SET_CPUID = 158, 0x1012
WALL = 0x40000000
FIELDS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base "
          "ds es fs gs").split()
CANNOT = 125


class Regs(ctypes.Structure):
    _fields_ = [(f, ctypes.c_uint64) for f in FIELDS]


def supported():
    """True if this machine reports that it can fault CPUID."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
            return any(line.startswith("flags") and "cpuid_fault" in line.split() for line in f)
    except OSError:
        return False


def make_cpuid():
    """A function that executes CPUID here, in the tracer."""
    # push rbx; mov r8, rdx; mov eax, edi; mov ecx, esi; cpuid; mov [r8], eax, ebx, ecx, edx; pop rbx; ret
    code = bytes.fromhex("53 4989d0 89f8 89f1 0fa2 418900 41895804 41894808 4189500c 5b c3".replace(" ", ""))
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    entry = ctypes.addressof(ctypes.c_char.from_buffer(page))
    call = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(entry)

    def cpuid(leaf, subleaf):
        out = (ctypes.c_uint32 * 4)()
        call(leaf, subleaf, out)
        return list(out)

    cpuid.page = page
    return cpuid


def old(leaf, subleaf, cpuid):
    """Returns the CPUID registers of an older processor."""
    a, b, c, d = cpuid(leaf, subleaf)
    if leaf == 1:
        # FMA, MOVBE, XSAVE, OSXSAVE, AVX, F16C
        c &= ~(1 << 12 | 1 << 22 | 1 << 26 | 1 << 27 | 1 << 28 | 1 << 29)
    elif leaf == 7:
        # AVX2, BMI, AVX-512, SHA and all the rest
        b = c = d = 0
        a = 0
    elif leaf == 0x80000001:
        # LZCNT, XOP, FMA4, TBM
        c &= ~(1 << 5 | 1 << 11 | 1 << 16 | 1 << 21)
    elif leaf == 0xD:
        a = b = c = d = 0
    return a, b, c, d


class Tracer:
    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.restype = ctypes.c_long
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.cpuid = make_cpuid()
        self.answered = 0

    def ptrace(self, request, pid, addr=0, data=0):
        ctypes.set_errno(0)
        result = self.libc.ptrace(request, pid, addr, data)
        if result == -1 and ctypes.get_errno():
            raise OSError(ctypes.get_errno(), f"ptrace {request}")
        return result

    def regs(self, pid):
        regs = Regs()
        self.ptrace(PTRACE_GETREGS, pid, 0, ctypes.addressof(regs))
        return regs

    def set_regs(self, pid, regs):
        self.ptrace(PTRACE_SETREGS, pid, 0, ctypes.addressof(regs))

    def peek(self, pid, addr):
        return self.ptrace(PTRACE_PEEKTEXT, pid, addr) & (2**64 - 1)

    def switch_off(self, pid):
        """Lets the freshly started program call arch_prctl(ARCH_SET_CPUID, 0)."""
        saved = self.regs(pid)
        at = saved.rip
        word = self.peek(pid, at)
        self.ptrace(PTRACE_POKETEXT, pid, at, (word & ~0xFFFF) | 0x050F)
        regs = Regs.from_buffer_copy(saved)
        regs.rax, regs.rdi, regs.rsi = SYS_ARCH_PRCTL, ARCH_SET_CPUID, 0
        regs.orig_rax = 2**64 - 1
        self.set_regs(pid, regs)
        self.ptrace(PTRACE_SINGLESTEP, pid)
        os.waitpid(pid, 0)
        result = self.regs(pid).rax
        self.ptrace(PTRACE_POKETEXT, pid, at, word)
        self.set_regs(pid, saved)
        return result == 0

    def answer(self, pid):
        """Answers a CPUID that faulted; false where it was something else."""
        regs = self.regs(pid)
        try:
            if self.peek(pid, regs.rip) & 0xFFFF != 0xA20F:
                return False
        except OSError:
            return False
        regs.rax, regs.rbx, regs.rcx, regs.rdx = old(regs.rax & 0xFFFFFFFF, regs.rcx & 0xFFFFFFFF, self.cpuid)
        regs.rip += 2
        self.set_regs(pid, regs)
        self.answered += 1
        return True

    def run(self, command):
        pid = os.fork()
        if pid == 0:
            self.libc.ptrace(PTRACE_TRACEME, 0, None, None)
            try:
                os.execv(command[0], command)
            finally:
                os._exit(127)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            return CANNOT
        self.ptrace(PTRACE_SETOPTIONS, pid, 0, O_TRACECLONE | O_EXITKILL)
        if not self.switch_off(pid):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return CANNOT
        self.ptrace(PTRACE_CONT, pid)
        known = {pid}
        while True:
            thread, status = os.waitpid(-1, WALL)
            if not os.WIFSTOPPED(status):
                if thread == pid:
                    return os.waitstatus_to_exitcode(status) if self.answered else CANNOT
                continue
            number = os.WSTOPSIG(status)
            deliver = number
            if status >> 16:
                deliver = 0
            elif number == signal.SIGSTOP and thread not in known:
                known.add(thread)
                deliver = 0
            elif number == signal.SIGSEGV and self.answer(thread):
                deliver = 0
            try:
                self.ptrace(PTRACE_CONT, thread, 0, deliver)
            except ProcessLookupError:
                continue


def main():
    if not supported():
        return CANNOT
    try:
        tracer = Tracer()
    except OSError:
        return CANNOT
    code = tracer.run(sys.argv[1:])
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
