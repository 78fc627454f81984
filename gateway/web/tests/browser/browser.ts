import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';

/** Debian's Chromium, or the one CHROMIUM names. Nothing is downloaded. */
const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

export interface Look extends BrowserContextOptions {
  width?: number;
  height?: number;
  night?: boolean;
  locale?: string;
}

/** A reader's browser: one profile of its own, gone afterwards. */
export class Browser {
  private constructor(
    private readonly context: BrowserContext,
    private readonly profile: string,
  ) {}

  /** What the page complained about: errors, and violations of its content security policy. */
  readonly complaints: string[] = [];

  static async open(look: Look = {}): Promise<Browser> {
    const { width = 1280, height = 860, night = false, locale = 'en-GB', ...rest } = look;
    const profile = mkdtempSync(join(tmpdir(), 'covel-web-'));
    const context = await chromium.launchPersistentContext(profile, {
      executablePath,
      headless: true,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
      viewport: { width, height },
      colorScheme: night ? 'dark' : 'light',
      locale,
      ...rest,
    });
    context.setDefaultTimeout(40_000);
    return new Browser(context, profile);
  }

  async page(url: string): Promise<Page> {
    const page = await this.context.newPage();
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('console', (message) => {
      const text = message.text();
      if (/Content Security Policy|TrustedScript|TrustedHTML/i.test(text)) this.complaints.push(text);
      else if (message.type() === 'error' && !/WebSocket connection|Failed to load resource/.test(text)) {
        this.complaints.push(text);
      }
    });
    await page.goto(url);
    return page;
  }

  async close(): Promise<void> {
    await this.context.close();
    rmSync(this.profile, { recursive: true, force: true });
  }
}
