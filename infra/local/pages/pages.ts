import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join, resolve } from 'node:path';
import type { Mail } from '../aws/mailbox.ts';

export interface Page {
  readonly contentType: string;
  readonly body: string;
}

const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

const FILES: Readonly<Record<string, string>> = {
  '/': 'home.html',
  '/mailbox': 'mailbox.html',
  '/mailbox/mailbox.js': 'mailbox.js',
  '/docs': 'index.html',
  '/docs/': 'index.html',
  '/docs/page.js': 'page.js',
  '/docs/page.css': 'page.css',
  '/docs/swagger-ui.css': join(SWAGGER_UI, 'swagger-ui.css'),
  '/docs/swagger-ui-bundle.js': join(SWAGGER_UI, 'swagger-ui-bundle.js'),
};

/** The pages that the local service has in addition to its API. */
export const openPages =
  (mails: readonly Mail[]) =>
  (path: string): Page | undefined => {
    if (path === '/mailbox.json')
      return { contentType: 'application/json; charset=utf-8', body: JSON.stringify(mails) };
    const file = FILES[path];
    if (!file) return undefined;
    const type = extname(file).slice(1).replace('js', 'javascript');
    return {
      contentType: `text/${type}; charset=utf-8`,
      body: readFileSync(resolve(import.meta.dirname, file), 'utf8'),
    };
  };
