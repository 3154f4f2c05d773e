import type { BerthError } from '../../../system/errors/berth-error.ts';
import type { ProgramStream } from '../../forwarding/helper-connection.ts';
import type { ExecSink } from '../../exec/exec-stream.ts';
import { messageBody } from '../../exec/protocol/frame.ts';
import type { ProgramCall } from '../../../system/program/program-call.ts';
import { passingRawBytes } from '../../../system/program/raw-bytes.ts';
import { type PipedProcess, startProgram } from '../../../system/run-program.ts';
import { sshFailed } from './argv/ssh-to-job.ts';

/** A program in the job, through a child of this process with pipes. */
export class ChildProgram implements ProgramStream {
  readonly #child: PipedProcess;
  readonly #sink: ExecSink;
  #over = false;

  constructor(call: ProgramCall, sink: ExecSink) {
    const { file, args } = passingRawBytes(call);
    this.#child = startProgram(file, args.slice(1), {
      env: call.env,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#sink = sink;
  }

  start(): void {
    const { stdin, stdout, stderr } = this.#child;
    for (const stream of [stdin, stdout, stderr]) stream.on('error', () => undefined);
    stdout.on('data', (bytes: Buffer) => this.#output('stdout', bytes));
    stderr.on('data', (bytes: Buffer) => this.#output('stderr', bytes));
    this.#child.on('error', () => this.#end({ exitCode: sshFailed }));
    this.#child.on('close', (exitCode) => this.#end({ exitCode: exitCode ?? sshFailed }));
  }

  input(slot: Buffer, length: number, sent: () => void): void {
    // An error is the child's end.
    this.#child.stdin.write(messageBody(slot).subarray(0, length), () => sent());
  }

  giveUp(reason: BerthError): void {
    this.#end({ exitCode: sshFailed, reason });
    this.#child.kill();
  }

  #output(channel: 'stdout' | 'stderr', bytes: Buffer): void {
    if (!this.#over) this.#sink.output(channel, bytes);
  }

  #end(outcome: Parameters<ExecSink['end']>[0]): void {
    if (this.#over) return;
    this.#over = true;
    this.#sink.end(outcome);
  }
}
