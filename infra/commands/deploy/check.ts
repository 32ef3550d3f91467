import type { Settings } from '../../settings/settings.ts';
import type { DeployedStack } from './deployed.ts';

/** What is wrong and why that matters, and what an operator does then. */
export interface Finding {
  /** A warning leaves the environment ready. */
  readonly severity: 'MISSING' | 'WARNING';
  readonly problem: string;
  readonly remedy: string;
}

/** Makes a finding of a template, whose last line is the remedy. */
const finding =
  (severity: Finding['severity']) =>
  (text: TemplateStringsArray, ...values: unknown[]): Finding => {
    const lines = String.raw(text, ...values).split(/\n\s*/);
    const remedy = lines.pop() ?? '';
    return { severity, problem: lines.join(' '), remedy };
  };
export const missing = finding('MISSING');
export const warning = finding('WARNING');

/** The first thing that a check finds, if anything. */
export type Found = Promise<Finding | undefined>;

/** The environment to check, in one of its regions. */
export interface Target {
  readonly environment: string;
  readonly settings: Settings;
  readonly region: string;
  /** The name of the stack of the environment in this region. */
  readonly name: string;
  /** Reads this stack, once for all checks. */
  readonly stack: () => Promise<DeployedStack | undefined>;
}
