import sys

from tools.slides.build import main

sys.exit(main())
