from tools.site.build import main

raise SystemExit(main())
