from tools.notebooks.build import main

raise SystemExit(main())
