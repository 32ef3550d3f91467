import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Failure } from '../../contract/failure.ts';

/** The content codings in which files are stored, the smaller one first. */
const CODINGS = ['br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];
/** What is appended to the name of a file for each coding. */
export const SUFFIXES: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz' };

/** A file in one coding, as it is sent. */
export interface ConsoleFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly base64: string;
}

/** The files of the console by their name, each in every coding and without one. */
export type ConsoleFiles = ReadonlyMap<string, ReadonlyMap<Coding | undefined, ConsoleFile>>;

/** The page that shows every screen. */
const PAGE = 'index.html';
const PATH_PREFIX = '/console/';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * Nothing is loaded from elsewhere, nothing is inline, and no script turns text into markup. Only
 * the token endpoints of identity providers are asked for something else.
 */
const pagePolicy = (tokenEndpoints: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    ["connect-src 'self'", ...new Set(tokenEndpoints.map((url) => new URL(url).origin))].join(' '),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');

/** Reads a built console. A request can name no other file, because it reads none. */
export function readConsoleFiles(
  folder: string,
  tokenEndpoints: readonly string[] = [],
): ConsoleFiles {
  const policy = pagePolicy(tokenEndpoints);
  const names = globSync('**/*.{html,js,css,svg}', { cwd: folder });
  return new Map(
    names.map((name) => [
      name,
      new Map(
        [undefined, ...CODINGS].map((coding) => [
          coding,
          readConsoleFile(folder, name, coding, policy),
        ]),
      ),
    ]),
  );
}

function readConsoleFile(
  folder: string,
  name: string,
  coding: Coding | undefined,
  policy: string,
): ConsoleFile {
  const content = readFileSync(join(folder, coding ? name + SUFFIXES[coding] : name));
  const hash = createHash('sha256').update(content).update(policy).digest('base64url');
  return {
    base64: content.toString('base64'),
    headers: {
      'Content-Type': CONTENT_TYPES[extname(name)] as string,
      ...(coding && { 'Content-Encoding': coding }),
      // Strong: each coding of a file has its own, and a page with a former policy is not kept.
      ETag: `"${hash}"`,
      // The name of an asset contains the hash of its content.
      'Cache-Control': name === PAGE ? 'no-cache' : 'public, max-age=31536000, immutable',
      'Content-Security-Policy': policy,
      Vary: 'Accept-Encoding, Origin',
    },
  };
}

/**
 * The file at a path, in the coding that the client prefers. Every path that is not the path of a
 * file leads to the page, which shows the screen. Fails with not-found.
 */
export function findConsoleFile(
  files: ConsoleFiles,
  pathname: string,
  acceptEncoding: string | undefined,
): ConsoleFile {
  const name = pathname.slice(PATH_PREFIX.length);
  const file = files.get(isFileName(name) ? name : PAGE)?.get(preferredCoding(acceptEncoding));
  if (!file) throw new Failure('not-found');
  return file;
}

/** Files are in assets/ or beside the page. The path of a screen may end in a login with a dot. */
const isFileName = (name: string): boolean => /^(assets\/.*|[^/]*\.[^/]*)$/s.test(name);

/**
 * The coding that Accept-Encoding prefers (RFC 9110, 12.5.3), the smaller one if it prefers none;
 * undefined for a content without a coding, which is also the answer if nothing is accepted.
 */
export function preferredCoding(acceptEncoding: string | undefined): Coding | undefined {
  const weights = new Map(acceptEncoding?.toLowerCase().split(',').map(codingAndWeight));
  const weightOf = (coding: string): number => weights.get(coding) ?? weights.get('*') ?? 0;
  const [preferred = CODINGS[0]] = CODINGS.toSorted((a, b) => weightOf(b) - weightOf(a));
  const weight = weightOf(preferred);
  return weight > 0 && weight >= (weights.get('identity') ?? 0) ? preferred : undefined;
}

function codingAndWeight(element: string): [string, number] {
  const parts = element.split(';').map((part) => part.trim());
  const [coding, ...parameters] = parts as [string, ...string[]];
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  return [coding, weight === undefined ? 1 : Number(weight.slice(2)) || 0];
}
